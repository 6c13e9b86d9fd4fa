"""Small programs that isolate one construct each: they move by 2-100x where a step moves by 1.1-2.6x."""
