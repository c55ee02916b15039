from judge.grading.cli import main

main()
