"""K on an NVIDIA GPU: generated Triton kernels, PyTorch, and rows streamed from the host."""
