"""The lab's first page: who runs what, what was found this week, and what needs somebody."""
