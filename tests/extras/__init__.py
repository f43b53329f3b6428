"""Tests that need packages beyond the extra `dev`: run them by naming the folder."""
