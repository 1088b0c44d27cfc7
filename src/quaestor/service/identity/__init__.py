"""Who is on the other side: callers, sessions, and sign-in by an identity provider."""
