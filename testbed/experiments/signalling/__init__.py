"""What schemes tell while entities walk about in a world (MM 6): each on the same work, in the simulator."""
