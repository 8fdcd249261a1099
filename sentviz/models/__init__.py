"""Models behind one protocol: our encoder, Hugging Face encoders and the hardmax classifier are peers."""
