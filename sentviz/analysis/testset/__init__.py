"""The rows behind the views of the place Rows: predicted, sliced, counted, compared; the demo set and a visitor's own file."""
