"""Did a change of the code change a model? The same seeds, before and after, part by part.

``tables`` draws the records, ``cases`` lists what is fitted (with ``options``), ``digests`` writes
down what came out, ``differences`` tells two records apart. Only public names of dpforest are used.
"""
