"""The exercises: what each asks, how an answer is checked, and the wrong answers that it knows."""

from attncourse.course import COURSE

chapters, order = COURSE.chapters, COURSE.order
exercises, exercise, groups = COURSE.exercises, COURSE.exercise, COURSE.groups
