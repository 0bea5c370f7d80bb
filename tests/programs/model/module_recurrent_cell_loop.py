# graphs: 1
"""An LSTM cell in a loop over time steps."""

import torch


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(3, 5)

    def forward(self, x):
        hidden = memory = x.new_zeros(x.shape[0], 5)
        outputs = []
        for step in x.unbind(1):
            hidden, memory = self.cell(step, (hidden, memory))
            outputs.append(hidden)
        return torch.stack(outputs, dim=1), (hidden, memory)


f = Encoder()


def inputs():
    return (torch.randn(2, 4, 3),)
