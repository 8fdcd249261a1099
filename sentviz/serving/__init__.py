"""Run models outside the app: HTTP requests, background jobs, large corpora, ONNX files."""
