"""The pages of the labs: fetch what is the learner's own, validate a form, call one function, choose page or fragment."""
