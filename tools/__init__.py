"""What is made from the texts: the Colab copies and the exercise notebooks (`make release`)."""
