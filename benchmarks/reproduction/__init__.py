"""The reproduction report: what runs through the platform found, beside what the studies printed."""
