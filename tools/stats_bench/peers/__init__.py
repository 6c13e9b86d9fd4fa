"""The methods that stepwatch is compared with, each called through its public interface."""
