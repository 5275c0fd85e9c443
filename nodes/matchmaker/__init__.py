"""Where advertisements and subscriptions meet: markings of links, what they cost, and good ones (MM 3, 4).

Pure computations on trees and numbers. Not here: the protocol (`nodes.routing.schemes`).
"""
