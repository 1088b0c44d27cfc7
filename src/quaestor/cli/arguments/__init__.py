"""From what was typed to the values that the library takes; errors name the option."""
