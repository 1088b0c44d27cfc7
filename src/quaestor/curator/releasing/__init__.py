"""From exact measures to an answer: noise, choices, and what follows from them."""
