"""What is seen: the dashboard in the browser."""
