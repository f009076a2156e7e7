"""Net Actor-Critic, the learner of the paper."""
