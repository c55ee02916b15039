from attncourse.grading.cli import main

main()
