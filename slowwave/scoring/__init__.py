"""What rows are worth: signals of recall, relevance, decay, and what predicates allow."""
