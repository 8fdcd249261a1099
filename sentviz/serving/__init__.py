"""What runs without a page: HTTP, jobs in the background, large corpora, ONNX files."""
