"""
Spam, and why
=============

The words that decided about one message.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot
from mercer.maps import EmailFeatures

messages, kinds = data.mail(80)
phi = EmailFeatures(("words",)).fit(messages[:60])
model = KernelSVC("linear()").fit(phi.transform(messages[:60]), kinds[:60])
right = model.score(phi.transform(messages[60:]), kinds[60:])
print(f"spam or ham: {right:.0%} of new messages right")
plot.deciding_words(model, phi, messages[61])
plt.show()
