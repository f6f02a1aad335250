import torch
import torchvision

model = torchvision.models.vgg16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)


def step():
    global output
    images, classes = torch.randn(32, 3, 224, 224), torch.randint(0, 1000, (32,))
    output = model(images)
    loss = torch.nn.functional.cross_entropy(output, classes)
    del images, classes
    loss.backward()
    del loss
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
