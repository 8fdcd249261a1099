"""The process that serves the app: requests, sessions, memory, errors, the queue. Nothing here knows a page."""
