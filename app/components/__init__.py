"""Streamlit components of our own: plain JavaScript and CSS, no build step, no outside request."""
