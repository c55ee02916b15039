"""How the platforms that submissions come from name folders, files and students."""

import re

# 2026_11_23, 23_11_26, 20261123_1200: no numbers of a student and a file
DATES = (
    r"(?:19|20)\d\d_\d\d?_\d\d?(?!\d)",
    r"\d\d?_\d\d?_(?:\d\d)?\d\d(?!\d)",
    r"(?:19|20)\d{6}_\d{4}(?:\d\d)?_",
)
MOODLE = r"_(?P<key>\d+)_assignsubmission_(?:file|onlinetext)"
# how platforms name what they hand over; `key` is what they call a student
PLATFORMS = {
    "canvas": re.compile(
        rf"(?P<name>[^_/]+)_(?:LATE_)?(?!{'|'.join(DATES)})(?P<key>\d+)"
        r"_(?:\d+_[^/]+|(?:text|link)\.html)"
    ),
    "moodle": re.compile(rf"(?P<name>[^/]+?){MOODLE}_?[^/]*"),
    "gradescope": re.compile(r"(?P<name>)submission_(?P<key>\d+)"),
}
# a folder of Moodle's ends so: whoever has such a text in their name has it before the last one
MOODLE_FOLDER = re.compile(rf"(?P<name>[^/]+){MOODLE}_?")
# what Gradescope puts beside its folders
METADATA = "submission_metadata.yml"
LAYOUTS = {
    "canvas": "Canvas's names",
    "moodle": "Moodle's names",
    "gradescope": "Gradescope's folders",
    "github": "GitHub Classroom's folders",
    "nbgrader": "nbgrader's folders",
    "": "the name of a folder or file",
}
# where a roster has what a platform calls a student
COLUMNS = {
    "canvas": re.compile("(canvas )?id"),
    "moodle": re.compile("identifier"),
    "github": re.compile(".*github.*|identifier"),
    "gradescope": re.compile("submission id"),
}
