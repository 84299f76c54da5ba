"""What stands in front of a model.

table         what flows between the steps: a matrix of numbers, or columns of numbers and text
columns       which columns a model takes, and which of them are text
encoders      missing values and categories
transformers  everything else that scikit-learn or this library puts in front of a model
"""
