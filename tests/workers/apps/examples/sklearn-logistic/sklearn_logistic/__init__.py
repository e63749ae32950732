"""sklearn-logistic: a Flower app."""
