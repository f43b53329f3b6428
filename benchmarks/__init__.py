"""Programs that measure, and programs that compute the constants of others."""
