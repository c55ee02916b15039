"""What builds the course: its notebooks, its site, the skeletons of new parts; not in the wheel."""
