# What type checkers see, and what `__init__.py` loads on first use.
from mercer.maps.drawings.glyphs import GlyphFeatures as GlyphFeatures
from mercer.maps.email.features import EmailFeatures as EmailFeatures
from mercer.maps.explicit import ExplicitMap as ExplicitMap
from mercer.maps.fourier import RandomFourierMap as RandomFourierMap
from mercer.maps.learned.metric import LearnedMetric as LearnedMetric
from mercer.maps.nystrom import NystromMap as NystromMap
from mercer.maps.polar import PolarMap as PolarMap
from mercer.maps.polynomial import PolynomialMap as PolynomialMap
from mercer.maps.polynomial import PowersMap as PowersMap
from mercer.maps.polynomial import TaylorGaussianMap as TaylorGaussianMap
from mercer.maps.repair import SpectrumRepair as SpectrumRepair
from mercer.maps.sketch import TensorSketchMap as TensorSketchMap
