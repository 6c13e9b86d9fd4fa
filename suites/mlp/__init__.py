"""A multilayer perceptron on dense inputs: matrix products, small activations, Adam."""
