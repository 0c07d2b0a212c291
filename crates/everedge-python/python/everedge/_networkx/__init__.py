"""The NetworkX backend: functions of NetworkX, answered by everedge.

NetworkX finds it through two entry points: `info` says which functions it has, `interface` has them. `opened` makes arrays of a
graph, `table` says from which size on a function is worth that; the other modules are the functions, by subject.
"""
