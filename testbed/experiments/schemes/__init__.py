"""All routing schemes on the same networks under the same load (RTE 2, 3), in the simulator."""
