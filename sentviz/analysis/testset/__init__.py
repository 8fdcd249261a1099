"""The rows behind the pages of the section Test set: predicted, sliced, counted, compared; the demo set and a visitor's own file."""
