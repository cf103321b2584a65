// The project's own header: its path is that of one of Tessera's headers.
#pragma once

inline constexpr int kThreads = 2;
