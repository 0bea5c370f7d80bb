"""Records of captures and graph breaks, and everything that is said about them: logs, warnings, structured traces, pages."""
