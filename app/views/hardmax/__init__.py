"""The page of the hardmax transformer: a review, the playground, the leaders of a data set."""
