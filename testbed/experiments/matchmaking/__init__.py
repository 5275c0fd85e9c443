"""What matching advertisements with subscriptions takes, by how links are marked (MM 4.4, Figs. 7, 8)."""
