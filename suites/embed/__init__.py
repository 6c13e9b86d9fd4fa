"""A DLRM-style recommender: large embedding tables, sparse look-ups, a small perceptron, dense Adam."""
