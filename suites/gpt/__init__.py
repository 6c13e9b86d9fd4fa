"""A causal transformer language model: attention, layer norms, a tied head, Adam."""
