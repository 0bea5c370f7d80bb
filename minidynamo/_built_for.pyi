TORCH: str  # the version that the extension was built for, e.g. "2.13.0+cpu"; written by the build
