class Client:
    def __init__(self, client):
        pass
