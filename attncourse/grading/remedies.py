def remedy(tier, fault): return ""
