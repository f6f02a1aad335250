"""uvmsim: how much slower is a GPU program whose memory does not fit?"""
