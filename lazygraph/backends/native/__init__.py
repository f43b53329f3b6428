"""The backend that runs a whole plan as one program of machine code, on several threads."""
