// a page opened from a folder may not read the others, from which the search cuts its excerpts
if (location.protocol === "file:") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}
