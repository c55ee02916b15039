class A:
    @property
    def b(self):
        return 1
