"""The call tree of a JAX program: what each site holds, which run again, and why."""
