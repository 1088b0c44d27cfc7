"""The privacy-loss engine: certified composition of mechanisms one knows.

``law`` says what a loss is; one file for each kind of loss; ``line`` inverts the Laplace transform
of their sum with rigorous error terms; ``profile`` answers questions with it.
"""
